import { readFileSync } from "node:fs";

/** Figures on which the synthetic sample is based, from `data/`. */

/** National figures for a procedure group. Amounts are averages in dollars. */
interface ProcedureFigures {
  code: string;
  /** Yearly services in the nation. */
  services: number;
  charge: number;
  allowed: number;
  /** Beneficiaries divided by services. */
  beneficiaryShare: number;
  /** Medicare's payment divided by the allowed amount. */
  paymentShare: number;
  /** Share of services with an outlier payment. */
  outlierShare: number;
  outlierAmount: number;
  name: string;
}

/** Factors are the state's average divided by the national average. */
interface StateFigures {
  state: string;
  hospitals: number;
  chargeFactor: number;
  allowedFactor: number;
  /** The commonest first two digits of the ZIP codes of the state's hospitals. */
  zip: string;
}

/** Splits each line of a file in `data/` into `count` texts; the last is the rest of the line. Leaves out comments. */
function linesOf(name: string, count: number): string[][] {
  const lines = readFileSync(new URL(`data/${name}`, import.meta.url), "utf8").split("\n");
  return lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const words = line.split(" ");
      return [...words.slice(0, count - 1), words.slice(count - 1).join(" ")];
    });
}

export const procedureFigures: readonly ProcedureFigures[] = linesOf("procedures.txt", 9).map(
  ([code, ...rest]) => {
    const [services, charge, allowed, beneficiaryShare, paymentShare, outlierShare, outlierAmount] =
      rest.map(Number);
    const amounts = {
      services,
      charge,
      allowed,
      beneficiaryShare,
      paymentShare,
      outlierShare,
      outlierAmount,
    };
    return { code, ...amounts, name: rest[7] };
  },
);

export const stateFigures: readonly StateFigures[] = linesOf("states.txt", 5).map(
  ([state, hospitals, charge, allowed, zip]) => ({
    state,
    hospitals: Number(hospitals),
    chargeFactor: Number(charge),
    allowedFactor: Number(allowed),
    zip,
  }),
);

/** RUCA codes, each with its share of all hospitals. */
export const ruralUrbanFigures = linesOf("rural-urban.txt", 3).map(([share, code, description]) => ({
  share: Number(share),
  code,
  description,
}));
