"""The Common Expression Language for policies: checked when a toolspec loads, bounded when a call is judged.

`programs` is the face: everything else is reached through it. Written here rather than bound, because a policy must
end: the runtimes that can be had for Python bound neither the bytes that a string operation touches nor the work of a
regular expression, and give no way to stop an evaluation. `docs/cel.md` tells the language, its functions and bounds.
"""
