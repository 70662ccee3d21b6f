import { printable, whole } from "../../../shared/browser/format.ts";
import type { Dataset, FacilitiesAnswer } from "./answers.ts";
import { type Choice, nowhere, radiusesInMiles } from "./choice.ts";
import { plainOf } from "./procedures.ts";
import { isMarylandZip, states, whyMaryland, whyMissing } from "./states.ts";
import { placeText } from "./words.ts";

/** Explains why no prices are found, and links to pages with prices. The server runs this module too. */

interface Absence {
  choice: Choice;
  code: string;
  /** The procedure's official name; undefined if the data doesn't have the procedure. */
  official: string | undefined;
  /** Hospitals of the procedure in the chosen place or the nation, all without a price; null if there are none. */
  unpriced: Pick<FacilitiesAnswer, "summary" | "data"> | null;
  isZipKnown: boolean;
  /** The data version of the nation's prices; undefined if the nation has no price. */
  version: string | undefined;
  datasets: readonly Dataset[];
}

interface Nothing {
  title: string;
  why: string;
  /** Links to pages with prices. `changes` are changes of the URL's parameters; null removes all parameters. */
  ways: { text: string; changes: Record<string, string | null> | null }[];
}

export function nothingText(absence: Absence): Nothing {
  const { choice, code, official, unpriced, isZipKnown, version, datasets } = absence;
  const { state, near, within, year } = choice;
  const name = plainOf(code)?.name ?? official;
  const isState = state === null || state in states;
  const hasNation = version !== undefined;
  const where = isState && hasNation ? placeText(choice) : "";
  const isYear = datasets.some((one) => [String(one.data_year), one.data_version].includes(year ?? ""));
  const dataset = datasets.find(({ data_version }) => data_version === version);
  const missing =
    state === "MD"
      ? { state, reason: "" }
      : dataset?.coverage.missing_states.find((each) => each.state === state);
  const isUnknown = near !== null && !isZipKnown;
  const wider =
    near !== null && isZipKnown && hasNation ? radiusesInMiles.filter((miles) => miles > within) : [];
  const why = () => {
    if (!isState) return `There is no state “${printable(state)}”.`;
    if (isUnknown) return `The ZIP code “${printable(near)}” isn't known here.`;
    if (unpriced) return unpricedText(unpriced, where);
    if (year !== null && datasets.length > 0 && !isYear) return `There is no data of “${printable(year)}”.`;
    if (name === undefined) return `The data has no procedure group “${printable(code)}”.`;
    const none = `No hospital ${where || "in the data"} has a price for it.`;
    if (near !== null && isMarylandZip(near)) return `${none} ${whyMaryland}.`;
    return missing ? `${whyMissing(missing)}.` : none;
  };
  return {
    title: name && isState && !isUnknown ? `No prices for ${name} ${where}`.trim() : "Nothing was found",
    why: why(),
    ways: [
      ...wider.map((miles) => ({
        text: `Look within ${miles} miles`,
        changes: { within: String(miles) },
      })),
      (state === null && near === null) || !hasNation
        ? { text: "See what there is", changes: null }
        : { text: "See the whole nation", changes: nowhere },
    ],
  };
}

function unpricedText({ summary, data }: Pick<FacilitiesAnswer, "summary" | "data">, where: string): string {
  const { facilities } = summary;
  const rows = facilities === 1 ? "Its only row" : `All ${whole(facilities)} of its rows`;
  const reason = data.every(({ status }) => status === "suppressed")
    ? "suppressed by CMS (10 services or fewer)"
    : "suppressed or incomplete";
  const charges = facilities === 1 ? "this hospital's charge isn't" : "these hospitals' charges aren't";
  return `${[rows, where].filter(Boolean).join(" ")} ${facilities === 1 ? "is" : "are"} ${reason}: ${charges} published.`;
}
