"""Language models as the product runs them: loading, backends, chat, adapters, draft models."""
