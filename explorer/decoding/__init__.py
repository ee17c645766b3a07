"""Speculative decoding, to be read in this order.

tree        a candidate tree and its attention mask
drafter     the interface of a method: a drafter, and its draft in a step
cache       a KV cache that keeps the accepted rows of a pass
sampling    the base model's distribution, and draws from it
acceptance  which path of a verified tree becomes text
loop        draft → verify → accept → commit, the same for every method
medusa      the first method: heads fill a tree

Then the others, each in its file. dynamic: trees that are chosen in every step; hydra: heads that
see their path; drawn: Medusa with drawn candidates; draft_model, lookahead, prompt_lookup, plain.
registry makes a drafter from a method's name.
"""
