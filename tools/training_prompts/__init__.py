"""Templates, word lists and passages of make_training_prompts.py, and what fills them."""
