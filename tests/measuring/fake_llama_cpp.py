"""A program that speaks the worker's protocol without llama.cpp, well or in the way it is asked to.

    python fake_llama_cpp.py BEHAVIOUR [LOG]

It replies with the prompt's first token over and over; a pass takes it 2 ms by its own word.
"""

import json
import sys
import time

PASS_MS = 2.0


def reply(prompt, count):
    return {
        "tokens": prompt[:1] * count,
        "passes": count - 1,
        "milliseconds": PASS_MS * (count - 1),
        "prompt_tokens": len(prompt) + (behaviour == "other-tokens"),
        "idle_seconds": 2.0,
        "idle_cpu_seconds": 0.5,
    }


behaviour = sys.argv[1]
for line in sys.stdin:
    request = json.loads(line)
    if len(sys.argv) > 2:
        with open(sys.argv[2], "a", encoding="utf-8") as log:
            log.write(line)
    if "model" in request:
        answer = {"version": "fake 1"}
        if behaviour == "cannot-read":
            answer = {"error": "this file\ncannot be opened"}
    elif behaviour == "crash":
        sys.exit(3)
    elif behaviour == "hang":
        time.sleep(60)
    elif behaviour == "nonsense":
        answer = {"tokens": "many"}
    else:
        answer = reply(request["prompt"], request["max_new_tokens"])
    print("chatter" if behaviour == "chatter" else json.dumps(answer), flush=True)
