"""Deliberate miscompiles: the generator is good for something when it finds each of them.

A build with TALC_PLANT_BUGS (./dev programs --planted makes it) has them; the variable TALC_PLANTED switches one on."""

PLANTED = {
    "guard-equal": "a number that shapes the computation is not compared",
    "guard-tensor": "sizes, dtype and layout of a tensor are not compared",
    "guard-truth": "a condition on numbers is not looked at",
    "guard-apart": "tensors that are written to may share memory",
    "guard-grad-mode": "no_grad() is not noticed",
    "write-back": "a write does not reach the caller's memory",
    "view-step": "all steps of a view but the first are lost",
    "pending-view": "a view that waits for memory does not get it at an exit",
    "stale-root": "a value is read as it was before a write",
    "branch": "a branch on a tensor goes the other way",
    "iterators": "an iterator is not given back at an exit",
    "requires-grad": "a result forgets that it requires grad",
    "store-global": "a global variable is not written",
}


def check(options, campaign):
    """Each must differ within so many programs, and none without one."""
    count = max(options.count, 1500)
    seeds = list(range(options.first, options.first + count))
    missed = []
    for name, what in PLANTED.items():
        ran, found, seconds = campaign(options, options.backend, seeds, plant=name, stop_at=1, quiet=True)
        if found:
            print(f"found   {name}: {what} (seed {found[0][0]}, after {ran} programs, {seconds:.1f} s)", flush=True)
        else:
            print(f"MISSED  {name}: {what} ({ran} programs, {seconds:.1f} s)", flush=True)
            missed.append(name)
    print(f"{len(PLANTED) - len(missed)} of {len(PLANTED)} planted miscompiles found")
    return 1 if missed else 0
