// The long trial in short. Always the same snapshots: what fails here is new.
process.env.ORACLE_SNAPSHOTS ||= "4";
process.env.ORACLE_ROWS ||= "300";
process.env.TRIAL_SEED ||= "1";
await import("../long/oracles.test.ts");
