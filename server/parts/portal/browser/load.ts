import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { asFailure, type Failure } from "./api.ts";

/** A view's answers, all at once: the old ones stay until the new ones are there. */

/** Before it nothing says that something is under way. */
const patienceMs = 300;

interface Loaded<T> {
  view: T | null;
  failure: Failure | null;
  isLate: boolean;
  /** Whether the view is of what was asked for before, and what is asked for now is late or failed. */
  isOld: boolean;
  retry: () => void;
}

/** @param key of what is loaded: another one loads anew */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [loaded, setLoaded] = useState<{ key: string; view: T } | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isLate, setLate] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const aborting = new AbortController();
    const timer = setTimeout(() => setLate(true), patienceMs);
    const end = () => {
      clearTimeout(timer);
      setLate(false);
    };
    latest.current(aborting.signal).then(
      (view) => {
        if (aborting.signal.aborted) return;
        end();
        setLoaded({ key, view });
        setFailure(null);
      },
      (error) => {
        if (aborting.signal.aborted) return;
        end();
        setFailure(asFailure(error));
      },
    );
    return () => {
      clearTimeout(timer);
      aborting.abort();
    };
  }, [key, attempt]);
  const retry = useCallback(() => setAttempt((before) => before + 1), []);
  const isOld = loaded !== null && loaded.key !== key && (isLate || failure !== null);
  return { view: loaded?.view ?? null, failure, isLate, isOld, retry };
}
