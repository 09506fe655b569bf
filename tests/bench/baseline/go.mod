module toolcall-operator/tests/bench/baseline

go 1.26.0
