import { useState } from "preact/hooks";
import { asFailure, type Failure } from "./api.ts";

/** Runs a visitor's actions on the server, one at a time, and keeps the last failure. */

export function useAction() {
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (work: () => Promise<void>) => {
    if (isBusy) return;
    setBusy(true);
    setFailure(null);
    try {
      await work();
    } catch (error) {
      setFailure(asFailure(error));
    }
    setBusy(false);
  };
  return { failure, isBusy, run };
}

/** A failure as a sentence. */
export function sentenceOf({ status, message }: Failure): string {
  if (status === 0) return "The server can't be reached. Nothing was done: try again.";
  if (status === 401) return "Your key isn't valid any more.";
  return `${message[0].toUpperCase()}${message.slice(1)}${/[.?!]$/.test(message) ? "" : "."}`;
}

/** A failure's text about a field; empty where it is about something else. */
export function errorOf(failure: Failure | null, param: string): string {
  if (failure?.param !== param) return "";
  if (failure.type === "missing_parameter") return "This is needed.";
  const [, expected] = /, expected (.*)$/s.exec(failure.message) ?? [];
  return expected === undefined ? sentenceOf(failure) : `This must be ${expected}.`;
}

/** A failure's text, unless it is about one of these fields. */
export const otherError = (failure: Failure | null, ...params: string[]) =>
  failure === null || params.includes(failure.param ?? "") ? "" : sentenceOf(failure);
