/** The columns of CMS's file by Provider and Service. */

/** The names in the 2023 release. Only letters and digits are compared, without regard to case. */
export const requiredNames = {
  ccn: "Rndrng_Prvdr_CCN",
  facility: "Rndrng_Prvdr_Org_Name",
  city: "Rndrng_Prvdr_City",
  state: "Rndrng_Prvdr_State_Abrvtn",
  code: "APC_Cd",
  procedure: "APC_Desc",
  charge: "Avg_Tot_Sbmtd_Chrgs",
  allowed: "Avg_Mdcr_Alowd_Amt",
} as const;
/** The names of the required and the optional columns. An optional column that a file lacks counts as empty. */
export const columnNames = {
  ...requiredNames,
  street: "Rndrng_Prvdr_St",
  zip: "Rndrng_Prvdr_Zip5",
  ruralUrbanCode: "Rndrng_Prvdr_RUCA",
  ruralUrbanDescription: "Rndrng_Prvdr_RUCA_Desc",
  services: "CAPC_Srvcs",
  beneficiaries: "Bene_Cnt",
  payment: "Avg_Mdcr_Pymt_Amt",
  outlierServices: "Outlier_Srvcs",
  outlierAmount: "Avg_Mdcr_Outlier_Amt",
} as const;

export const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, "");
