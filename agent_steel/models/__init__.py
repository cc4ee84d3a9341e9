"""Language models: prompts, requests, replies and costs."""
