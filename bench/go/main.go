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
	"mutex":         mutex,
	"sleeps":        sleeps,
	"sleep_1ms":     sleep1ms,
	"tcp_echo":      tcpEcho,
	"http_hello":    httpHello,
	"loops":         loops,
	"handoff":       handoff,

	"chan_pingpong":   chanPingpong,
	"chan_unbuffered": chanPass,
	"chan_buffered":   chanPass,
	"chan_one_to_one": chanPass,
	"chan_select":     chanSelect,
	"chan_ring":       chanRing,
	"skynet":          skynet,
}

func main() {
	serve(workloads)
}
