/** Types of the API's answers, as far as the pages use them. */

export interface Source {
  data_year: number;
  data_version: string;
  caveat: string;
}

export interface Summary {
  facilities: number;
  min_charge: number;
  p10_charge: number;
  p25_charge: number;
  median_charge: number;
  p75_charge: number;
  p90_charge: number;
  max_charge: number;
  spread: number;
  median_allowed: number;
}

export interface StateRow {
  state: string;
  facilities: number;
  median_charge: number;
  p25_charge: number;
  p75_charge: number;
  min_charge: number;
  max_charge: number;
  spread: number;
  median_allowed: number;
}

export interface ProcedureAnswer {
  procedure: { code: string; name: string };
  scope: { state: string };
  summary: Summary;
  rows: { priced: number; suppressed: number; incomplete: number };
  allowed: Record<"min" | "p10" | "p25" | "median" | "p75" | "p90" | "max", number>;
  histogram: { edges: number[]; counts: number[] };
  data: StateRow[];
  source: Source;
}

export interface Price {
  ccn: string;
  facility: string;
  city: string;
  state: string;
  submitted_charge: number;
  medicare_allowed: number;
}

export interface PricesAnswer {
  summary: Summary;
  data: Price[];
  source: Source;
  next: string | null;
}

export interface TrendYear {
  data_year: number;
  data_version: string;
  name: string;
  facilities: number;
  p25_charge: number;
  median_charge: number;
  p75_charge: number;
  median_allowed: number;
  change: { median_charge: number; median_allowed: number } | null;
  matched: { facilities: number; median_charge: number; median_allowed: number } | null;
}

export interface TrendsAnswer {
  data: TrendYear[];
}

export interface Standing {
  rank: number;
  facilities: number;
  percentile: number;
  median_charge: number;
}

export interface FacilityRow {
  code: string;
  name: string;
  submitted_charge: number;
  medicare_allowed: number;
  services: number | null;
  national: Standing;
  state: Standing;
}

export interface FacilityAnswer {
  facility: {
    ccn: string;
    facility: string;
    city: string;
    state: string;
    street: string | null;
    zip: string | null;
    rural_urban: { code: string | null; description: string | null } | null;
  };
  data: FacilityRow[];
  source: Source;
}

export interface ProceduresAnswer {
  data: { code: string; name: string; facilities: number; median_charge: number; spread: number }[];
}

export interface SearchAnswer {
  summary: { matches: number };
  data: (
    | { type: "facility"; ccn: string; facility: string; city: string; state: string }
    | { type: "procedure"; code: string; name: string }
  )[];
}

export interface Dataset {
  title: string;
  publisher: string;
  data_year: number;
  data_version: string;
  status: "current" | "available" | "superseded";
  rows: number;
  priced_rows: number;
  suppressed_rows: number;
  incomplete_rows: number;
  facilities: number;
  procedures: number;
  released: string | null;
  loaded_at: string;
  sha256: string;
  content_sha256: string;
  source_sha256: string | null;
  source_url: string | null;
  caveat: string;
  coverage: {
    states: string[];
    missing_states: { state: string; reason: string }[];
    procedures_without_prices: string[];
  };
}

export interface DatasetsAnswer {
  data: Dataset[];
}
