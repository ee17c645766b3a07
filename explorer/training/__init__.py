"""Training heads on text that the base model wrote itself (self-distillation)."""
