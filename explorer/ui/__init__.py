"""The web page: it shows trace records and never touches a model or a tensor."""
