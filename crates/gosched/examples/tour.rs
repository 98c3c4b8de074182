//! tour
fn main() {
    let v = gosched::run(|| {
        let hs: Vec<_> = (0..10)
            .map(|i| {
                gosched::go(move || {
                    println!("hi {i} {:?}", gosched::runtime::goroutine_id());
                    i * 2
                })
            })
            .collect();
        hs.into_iter().map(|h| h.join().unwrap()).sum::<i32>()
    });
    println!("{v}");
    let t = std::time::Instant::now();
    gosched::run(|| {
        for _ in 0..1000 {
            let hs: Vec<_> = (0..1000).map(|i| gosched::go(move || i)).collect();
            for h in hs {
                h.join().unwrap();
            }
        }
    });
    println!("spawn-join {:?}/op", t.elapsed() / 1_000_000);
    let t = std::time::Instant::now();
    gosched::run(|| {
        let hs: Vec<_> = (0..200)
            .map(|_| {
                gosched::go(move || {
                    for _ in 0..20000 {
                        gosched::yield_now()
                    }
                })
            })
            .collect();
        for h in hs {
            h.join().unwrap();
        }
    });
    println!("yield {:?}/op", t.elapsed() / 4_000_000);
    let t = std::time::Instant::now();
    gosched::run(|| {
        let h = gosched::go(|| {
            for _ in 0..1000000 {
                gosched::thread::park();
            }
        });
        let a = h.thread().clone();
        for _ in 0..1000000 {
            a.unpark();
            gosched::yield_now();
        }
        while !h.is_finished() {
            a.unpark();
            gosched::yield_now();
        }
    });
    println!("unpark/park {:?}/op", t.elapsed() / 1_000_000);
}
