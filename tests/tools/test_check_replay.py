"""Replay equals really running the tree, on the default model: a few of the trees of the check."""

from tools.check_replay import PROMPTS, differences, random_tree

TREES = ("chain:2", "cartesian:3,2,1", "mc_sim_7b_63", "dynamic:8", random_tree(12, 4, 1))


def test_a_replay_takes_the_steps_of_a_real_run(lab):
    found = list(differences(lab, PROMPTS, TREES, 24))
    assert len(found) == len(TREES) * len(PROMPTS)
    assert [seen for _, seen in found if seen] == []
    assert sum(steps for steps, _ in found) > 150


def test_a_replay_of_another_tree_would_be_noticed(lab, monkeypatch):
    import tools.check_replay as module

    monkeypatch.setattr(module, "replayed_run", lambda trace, tree: [1] * 20)
    assert any(found for _, found in differences(lab, PROMPTS[:1], ("chain:3",), 24))
