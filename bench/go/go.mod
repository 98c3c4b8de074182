module gosched/bench

go 1.22
