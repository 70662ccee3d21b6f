// The long trial in short.
process.env.PORT_RACES ||= "4";
await import("../long/ports.test.ts");
