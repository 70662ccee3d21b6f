// The long trial in short. Always the same requests: what fails here is new.
process.env.FLOOD_CONNECTIONS ||= "150";
process.env.TRIAL_SEED ||= "1";
await import("../long/flood.test.ts");
