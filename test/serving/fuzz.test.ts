// The long trial in short. Always the same requests: what fails here is new.
process.env.FUZZ_REQUESTS ||= "600";
process.env.FUZZ_SEED ||= "1";
await import("../long/fuzz.test.ts");
