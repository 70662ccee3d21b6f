import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Dataset, DatasetsAnswer } from "./answers.ts";
import { asFailure, type Failure } from "./api.ts";
import { ask, pathOf } from "./ask.ts";

/** Loads the answers of a view. The previous view stays until all answers are there. */

/** Milliseconds before a view counts as late. */
const patienceMs = 300;

/**
 * @param key identifies the view; another key loads another view
 * @returns the view, whether it is late, and whether it is the previous one because the new one is late or failed
 */
export function useLoaded<T>(key: string, load: () => Promise<T>) {
  const [loaded, setLoaded] = useState<{ key: string; view: T } | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isLate, setLate] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    let isOver = false;
    const timer = setTimeout(() => setLate(true), patienceMs);
    const end = () => {
      clearTimeout(timer);
      setLate(false);
    };
    latest.current().then(
      (view) => {
        if (isOver) return;
        end();
        setLoaded({ key, view });
        setFailure(null);
      },
      (error) => {
        if (isOver) return;
        end();
        setFailure(asFailure(error));
      },
    );
    return () => {
      clearTimeout(timer);
      isOver = true;
    };
  }, [key, attempt]);
  const retry = useCallback(() => setAttempt((before) => before + 1), []);
  const isOld = loaded !== null && loaded.key !== key && (isLate || failure !== null);
  return { view: loaded?.view ?? null, failure, isLate, isOld, retry };
}

/** The data versions. They are fetched after the pictures; a failure shows with the next view. */
export function useDatasets(isDue: boolean): Dataset[] {
  const [datasets, setDatasets] = useState<Dataset[]>([]);
  useEffect(() => {
    if (isDue)
      ask<DatasetsAnswer>(pathOf("/datasets")).then(
        ({ data }) => setDatasets(data),
        () => {},
      );
  }, [isDue]);
  return datasets;
}
