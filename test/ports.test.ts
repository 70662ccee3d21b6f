// The long trial in short.
process.env.PORT_RACES ||= "8";
await import("./long/ports.test.ts");
