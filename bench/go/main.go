// The workloads on Go. One file per family; each function is one workload of ../src/rows.rs.
package main

var workloads = map[string]func(params) sample{
	"spawn_join":    spawnJoin,
	"spawn_all":     spawnAll,
	"chain":         chain,
	"fib":           fib,
	"yield":         yields,
	"parked":        parked,
	"pingpong_park": pingpong,
	"sleeps":        sleeps,
	"sleep_1ms":     sleep1ms,
	"tcp_echo":      tcpEcho,
}

func main() {
	serve(workloads)
}
