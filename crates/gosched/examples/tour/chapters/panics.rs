use gosched::go;
use gosched::runtime::goexit;
use gosched::thread::Builder;

use super::{Chapter, Check, aside, ensure};
use crate::page::Page;

pub const CHAPTER: Chapter = Chapter {
    name: "panics",
    title: "A panic stays at home",
    why: "One goroutine panics, the others don't notice. The message says which goroutine it was and who created it;\n\
          join returns what it panicked with. goexit ends a goroutine from within, running its destructors.",
    source: include_str!("panics.rs"),
    run,
    aside: three_goroutines,
};

/// In a process of its own, so that the message on its standard error can be shown in its place.
fn three_goroutines() {
    gosched::run(|| {
        // ---8<---
        let careless = Builder::new().name("careless".into());
        let careless = careless.spawn(|| [1, 2, 3].iter().position(|n| *n == 4).unwrap()).unwrap();
        let quitter = go(|| goexit());
        let steady = go(|| "still here");

        println!("careless: {:?}", careless.join().map_err(|_| "panicked"));
        println!("quitter:  {:?}", quitter.join().map_err(|why| why.is::<gosched::runtime::Goexit>()));
        println!("steady:   {:?}", steady.join().unwrap());
        // ---8<---
    });
}

fn run(page: &Page, _: bool) -> Check {
    let output = aside(&CHAPTER).map_err(|error| error.to_string())?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    page.result("on standard error:");
    page.quote(&stderr);
    page.result("on standard output:");
    page.quote(&stdout);
    ensure(output.status.success(), format!("it ended by {}", output.status))?;
    ensure(stderr.contains("\"careless\"") && stderr.contains("created by goroutine 1"), "nobody was named")?;
    ensure(stdout.contains("still here"), "the steady one was lost")
}
