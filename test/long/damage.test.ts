// Runs the quick tests with more damaged files.
process.env.DAMAGED_FILES ||= "20000";
await import("../engine/snapshot.test.ts");
