import { readFileSync } from "node:fs";

/** Bytes of memory that a process holds (VmRSS), or the most that it ever held (VmHWM). Linux only. */
export function memoryBytes(field: "VmRSS" | "VmHWM", pid: number = process.pid): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const [, kib] = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status) ?? [];
  if (kib === undefined) throw new Error(`process ${pid} has no ${field}, expected a running one`);
  return Number(kib) * 1024;
}
