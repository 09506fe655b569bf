"""The way of one call: gather, decide, claim, run, settle. `reconcile.reconcile` is the whole of it on one page."""
