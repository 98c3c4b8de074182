// How much memory this process occupies.
package main

import (
	"bufio"
	"fmt"
	"os"
)

// resident is the number of bytes this process occupies, page tables included.
func resident() int {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		fail("%v", err)
	}
	defer file.Close()
	total := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kib int
		for _, field := range []string{"VmRSS: %d kB", "VmPTE: %d kB"} {
			if n, _ := fmt.Sscanf(lines.Text(), field, &kib); n == 1 {
				total += kib * 1024
			}
		}
	}
	return total
}
