"use strict";

// Nothing here is needed to read the page: it sorts and filters tables, opens what a link leads to
// and remembers the colours.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, column, head));
  }
  addFilter(table);
}

// A row stays if it has all words of the filter, such as "softmax faster".
function addFilter(table) {
  const label = document.createElement("label");
  label.className = "filter";
  const field = document.createElement("input");
  field.type = "search";
  label.append("Filter ", field);
  table.parentElement.before(label);
  const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    document.getElementById("sorted").textContent = `${shown} of ${rows.length} rows`;
  });
}

function sort(table, column, head) {
  const up = head.getAttribute("aria-sort") !== "ascending";
  const body = table.tBodies[0];
  const rows = [...body.rows];
  rows.sort((one, other) => (up ? 1 : -1) * order(key(one, column), key(other, column)));
  // What has no value stays below, whichever way.
  const known = rows.filter((row) => key(row, column) !== null);
  body.append(...known, ...rows.filter((row) => key(row, column) === null));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  document.getElementById("sorted").textContent =
    `sorted by ${head.textContent}, ${up ? "ascending" : "descending"}`;
}

function key(row, column) {
  const cell = row.cells[column];
  const value = cell.dataset.value;
  if (value === undefined) return null;
  return cell.classList.contains("number") ? Number(value) : value;
}

function order(one, other) {
  if (one === null || other === null) return 0;
  return typeof one === "number" ? one - other : one.localeCompare(other);
}

function open() {
  const found = location.hash && document.getElementById(location.hash.slice(1));
  if (!(found instanceof HTMLDetailsElement)) return;
  found.open = true;
  found.querySelector("summary").focus();
}
addEventListener("hashchange", open);
open();

// Where a file may keep nothing, the colours are as the system's again next time.
function kept(store) {
  try {
    return store(localStorage);
  } catch {
    return null;
  }
}
const chosen = kept((storage) => storage.getItem("metalbench-colours"));
for (const input of document.querySelectorAll("input[name=theme]")) {
  if (input.id === chosen) input.checked = true;
  input.addEventListener("change", () =>
    kept((storage) => storage.setItem("metalbench-colours", input.id)),
  );
}
