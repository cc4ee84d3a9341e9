"""What needs no model: values of tunables, and changes of the text that leave results alone."""
