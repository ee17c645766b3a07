// The prompt and the settings of a tab outlive a visit to another page of the app.
(/** @type {unknown[]} */ ...values) => {
  try {
    sessionStorage.setItem("medusa-explorer-asked", JSON.stringify(values));
  } catch {
    // no storage here: they are not kept
  }
};
