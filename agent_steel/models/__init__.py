"""Language models: what they are told and asked, how their answers are read, what they cost."""
