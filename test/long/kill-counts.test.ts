/** The trials of durability.ts, with as many rounds of load and kill -9 as the promise was made for. */

process.env.KILL_ROUNDS ||= "200";
await import("./durability.ts");
