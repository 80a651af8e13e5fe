// The only script of ours: live tick, times, theme, CSRF header, dialogs, toasts, keys, copy.
// Every page works without it. Nothing here decides: it shows what the server said.
(() => {
  "use strict";
  const doc = document, body = doc.body;
  const $ = (selector, root = doc) => root.querySelector(selector);
  const $$ = (selector, root = doc) => [...root.querySelectorAll(selector)];
  const cookie = name => doc.cookie.split("; ").find(c => c.startsWith(name + "="))?.slice(name.length + 1) ?? "";
  const setCookie = (name, value) => {
    const secure = location.protocol === "https:" ? "; secure" : "";
    doc.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=lax${secure}`;
  };
  const inField = el => el instanceof Element && el.matches("input, select, textarea, [contenteditable]");

  // A morph must not close what the reader opened nor uncheck what the reader checked.
  if (window.Idiomorph) {
    Idiomorph.defaults.ignoreActiveValue = true;
    Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) =>
      !(name === "open" && (node.tagName === "DETAILS" || node.tagName === "DIALOG")) &&
      !(name === "checked" && node.tagName === "INPUT");
  }

  /* ---- live tick ---- */
  const IDLE_MS = 120000, IDLE_STEP = 30, WORST_STEP = 60, SIGNED_OUT_STEP = 30;
  const live = { timer: 0, due: 0, failures: 0, wait: 0, okAt: Date.now(), out: false, gone: false,
                 paused: sessionStorage.getItem("live-paused") === "1", touched: Date.now(), woke: 0 };
  const region = () => doc.getElementById("live");
  const base = () => Number((region() ?? body).dataset.live ?? body.dataset.live ?? 0);
  const button = doc.getElementById("live-state");

  function held() {
    const at = region();
    if (!at) return false;
    if ($("dialog[open]") || $(".pop:popover-open")) return true;
    if (inField(doc.activeElement) && at.contains(doc.activeElement)) return true;
    if ($("input[type=checkbox]:checked", at)) return true;
    const picked = doc.getSelection();
    return !!picked && !picked.isCollapsed && at.contains(picked.anchorNode);
  }
  function step() {
    if (live.out) return SIGNED_OUT_STEP;
    if (live.failures) {
      const backoff = Math.min(WORST_STEP, base() * 2 ** live.failures);
      return Math.max(live.wait, backoff * (0.75 + Math.random() / 4));
    }
    return Date.now() - live.touched > IDLE_MS ? Math.max(base(), IDLE_STEP) : base();
  }
  function plan() {
    clearTimeout(live.timer);
    live.due = 0;
    if (!base() || doc.hidden || live.paused || !region()) return;
    const ms = step() * 1000;
    live.due = Date.now() + ms;
    live.timer = setTimeout(tick, ms);
  }
  function tick() {
    clearTimeout(live.timer);
    if (!base() || doc.hidden || live.paused) return;
    if (!held()) htmx.trigger(body, "live:tick");
    plan();
    showState();
  }
  // Coming back shows what happened meanwhile, such as a sign-in elsewhere; a tab change fires two events.
  function wake() {
    if (doc.hidden || Date.now() - live.woke < 1000) return;
    live.woke = Date.now();
    tick();
  }
  function showState() {
    if (!button) return;
    let state = "live", text;
    if (!base()) { state = "off"; text = "Not live"; }
    else if (live.out) { state = "out"; text = "Signed out"; }
    else if (live.paused) { state = "paused"; text = "Paused"; }
    else if (live.failures) {
      state = "trouble";
      text = `Reconnecting in ${Math.max(0, Math.ceil((live.due - Date.now()) / 1000))} s`;
    }
    else if (held()) { state = "paused"; text = "Paused while you select"; }
    else text = `Live · ${Math.floor((Date.now() - live.okAt) / 1000)} s ago`;
    if (button.dataset.state !== state) button.dataset.state = state;
    const word = $(".word", button);
    if (word.textContent !== text) word.textContent = text;
    const pressed = String(live.paused);
    if (button.getAttribute("aria-pressed") !== pressed) button.setAttribute("aria-pressed", pressed);
    button.disabled = !base();
  }
  function togglePause() {
    if (!base()) return;
    live.paused = !live.paused;
    sessionStorage.setItem("live-paused", live.paused ? "1" : "0");
    if (live.paused) plan(); else tick();
    showState();
  }
  doc.addEventListener("visibilitychange", () => {
    if (doc.hidden) { clearTimeout(live.timer); live.due = live.woke = 0; return; }
    wake();
  });
  addEventListener("focus", wake);
  for (const kind of ["pointerdown", "pointermove", "keydown", "scroll"]) {
    addEventListener(kind, () => {
      const idle = Date.now() - live.touched > IDLE_MS;
      live.touched = Date.now();
      if (idle) tick();
    }, { passive: true });
  }
  button?.addEventListener("click", togglePause);

  /* ---- what htmx asks and gets ---- */
  const isLive = event => event.detail.elt?.id === "live";
  body.addEventListener("htmx:configRequest", event => {
    if (event.detail.verb === "get") return;
    // The token rotates at sign-in in another tab; Django reads the field first, so a stale one must go.
    delete event.detail.parameters.csrfmiddlewaretoken;
    event.detail.headers["X-CSRFToken"] = cookie("csrftoken");
  });
  body.addEventListener("htmx:afterRequest", event => {
    const { xhr, successful, requestConfig } = event.detail;
    if (requestConfig?.verb !== "get") { plan(); return; }
    if (!isLive(event)) return;
    if (successful) {
      if (live.out) { live.out = false; toggleBanner(false); }
      live.failures = 0;
      live.okAt = Date.now();
    } else if (xhr?.status !== 401) {
      live.failures += 1;
      live.wait = Math.min(300, Number(xhr?.getResponseHeader("Retry-After")) || 0);
    }
    plan();
    showState();
  });
  body.addEventListener("app:signed-out", () => {
    live.out = true;
    toggleBanner(true);
    plan();
    showState();
  });
  function toggleBanner(show) {
    const band = doc.getElementById("signed-out");
    if (band) band.hidden = !show;
  }
  function failed(event) {
    if (event.detail.elt?.id === "live" || event.detail.xhr?.status === 401) return;
    const id = event.detail.xhr?.getResponseHeader?.("X-Request-Id");
    const said = event.detail.xhr?.getResponseHeader?.("X-Message");
    let text = said ? decodeURIComponent(said) : "That did not work. Nothing was changed here; try again.";
    if (id && !said) text += ` (request ${id})`;
    toast(text, true);
  }
  body.addEventListener("htmx:responseError", failed);
  body.addEventListener("htmx:sendError", failed);
  body.addEventListener("htmx:timeout", failed);
  body.addEventListener("htmx:afterSwap", event => {
    settle();
    if (event.detail.target?.id === "dlg" || event.target?.id === "dlg") openDialog();
  });
  body.addEventListener("htmx:oobAfterSwap", () => { settle(); plan(); });

  /* ---- dialogs: focus on the safe button, give focus back afterwards ---- */
  let opener = null, asked = null;
  body.addEventListener("htmx:beforeRequest", event => { asked = event.detail.elt; });
  function openDialog() {
    const dialog = doc.getElementById("dlg");
    if (!dialog || dialog.open || !dialog.firstElementChild) return;
    opener = doc.activeElement === body ? asked : doc.activeElement;
    dialog.showModal();
    ($("[data-safe]", dialog) ?? dialog).focus();
  }
  for (const dialog of $$("dialog")) {
    dialog.addEventListener("close", () => {
      if (dialog.id === "dlg") dialog.replaceChildren();
      if (opener?.isConnected) opener.focus();
      opener = null;
      showState();
    });
    dialog.addEventListener("click", event => {
      if (event.target === dialog || event.target.closest?.("[data-safe]")) {
        event.preventDefault();
        dialog.close();
      }
    });
  }
  body.addEventListener("htmx:afterRequest", event => {
    const dialog = event.detail.elt?.closest?.("dialog");
    if (dialog?.open && event.detail.requestConfig?.verb !== "get" && event.detail.successful) dialog.close();
  });

  /* ---- toasts ---- */
  function toast(text, isError = false) {
    const box = doc.getElementById("toasts"), made = doc.createElement("div");
    made.className = "toast" + (isError ? " error" : "");
    const words = doc.createElement("span");
    words.className = "grow";
    words.textContent = text;
    const close = doc.createElement("button");
    close.type = "button";
    close.className = "btn tight quiet";
    close.dataset.close = "";
    close.textContent = "Close";
    made.append(words, close);
    box.append(made);
    settle();
  }
  function tendToasts() {
    const all = $$("#toasts > .toast");
    all.slice(0, -3).forEach(old => old.remove());
    for (const one of all) {
      if (one.dataset.tended || one.classList.contains("error")) continue;
      one.dataset.tended = "1";
      const leave = () => one.matches(":hover, :focus-within") ? setTimeout(leave, 2000) : one.remove();
      setTimeout(leave, 8000);
    }
  }

  /* ---- times ---- */
  const LATE_S = 15;
  const pad = n => String(n).padStart(2, "0");
  function span(seconds) {
    if (seconds < 60) return `${seconds} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    const h = Math.floor(seconds / 3600), m = Math.floor(seconds % 3600 / 60);
    return m && h < 10 ? `${h} h ${pad(m)} min` : `${h} h`;
  }
  function relative(at, due) {
    const seconds = Math.round((at - Date.now()) / 1000), far = Math.abs(seconds);
    if (far > 86400) return "";
    if (seconds > 0) return `in ${span(seconds)}`;
    // Between two polls a healthy job's time passes; only a longer wait says that something is wrong.
    if (due !== null && far < LATE_S) return "due now";
    if (due === "") return `${span(far)} late`;
    return far < 1 ? "now" : `${span(far)} ago`;
  }
  function tellTimes(root = doc) {
    for (const at of $$("[data-rel]", root)) {
      const due = at.getAttribute("data-due"), text = relative(Date.parse(at.dataset.rel), due);
      if (at.textContent !== text) at.textContent = text;
      if (due === "") at.classList.toggle("late", text.endsWith("late"));
    }
  }

  /* ---- theme and zone: kept in cookies so that the server renders them ---- */
  const theme = () => doc.documentElement.dataset.theme ||
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  function switchTheme() {
    const next = theme() === "dark" ? "light" : "dark";
    doc.documentElement.dataset.theme = next;
    setCookie("theme", next);
  }
  const myZone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  for (const one of $$("[data-zone=mine]")) {
    one.dataset.zone = myZone;
    $(".zone-name", one).textContent = myZone;
  }

  /* ---- clicks ---- */
  doc.addEventListener("click", async event => {
    const at = event.target.closest?.("[data-theme-switch], [data-zone], [data-close], [data-copy], [data-keys-switch], [data-reveal]");
    if (!at) return;
    if ("themeSwitch" in at.dataset) switchTheme();
    else if ("zone" in at.dataset) { setCookie("zone", encodeURIComponent(at.dataset.zone)); location.reload(); }
    else if ("close" in at.dataset) at.closest(".toast").remove();
    else if ("keysSwitch" in at.dataset) { setKeys(!keysOn()); }
    else if ("reveal" in at.dataset) {
      const field = doc.getElementById(at.dataset.reveal), shown = field.type === "text";
      field.type = shown ? "password" : "text";
      at.textContent = shown ? "Show" : "Hide";
    }
    else {
      try { await navigator.clipboard.writeText(at.dataset.copy); toast("Copied"); }
      catch { toast("Copying is not allowed here; select the text instead", true); }
    }
  });

  /* ---- job form: show the fields of the chosen kind ---- */
  function kindOfSchedule() {
    const kind = $("input[name=schedule_type]:checked")?.value;
    if (!kind) return;
    for (const [name, value] of [["once", "one_time"], ["interval", "interval"], ["cron", "cron"]])
      for (const block of $$(".when-" + name)) block.classList.toggle("on", value === kind);
  }
  let typed = false;
  const guarded = $("form[data-guard]");
  guarded?.addEventListener("input", () => { typed = true; });
  guarded?.addEventListener("submit", () => { typed = false; });
  addEventListener("beforeunload", event => { if (typed) event.preventDefault(); });
  doc.addEventListener("change", event => { if (event.target.name === "schedule_type") kindOfSchedule(); });

  // A second click on a plain form has no second effect; coming back to the page frees its buttons.
  const sent = [];
  doc.addEventListener("submit", event => {
    const by = event.submitter;
    if (event.defaultPrevented || !by || (by.formMethod || event.target.method) !== "post") return;
    const field = event.target.elements.csrfmiddlewaretoken, token = cookie("csrftoken");
    if (field && token) field.value = token;
    setTimeout(() => { by.disabled = true; sent.push(by); });
  });
  addEventListener("pageshow", () => { for (const by of sent.splice(0)) by.disabled = false; });

  /* ---- keys ---- */
  const keysOn = () => localStorage.getItem("keys") !== "0";
  function setKeys(on) {
    localStorage.setItem("keys", on ? "1" : "0");
    for (const one of $$("[data-keys-switch]")) one.textContent = on ? "Turn single keys off" : "Turn single keys on";
  }
  const GO = { d: "/dashboard/", j: "/jobs/", e: "/executions/" };
  let prefix = 0;
  function moveRow(by) {
    const rows = $$("tbody tr[id]");
    if (!rows.length) return;
    const at = rows.findIndex(row => row.contains(doc.activeElement));
    const next = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))];
    $("a[href]", next)?.focus();
  }
  doc.addEventListener("keydown", event => {
    if (event.ctrlKey || event.altKey || event.metaKey || inField(event.target) || !keysOn()) return;
    if ($("dialog[open]")) return;
    const key = event.key;
    if (Date.now() - prefix < 1200 && GO[key]) { location.href = GO[key]; return; }
    prefix = key === "g" ? Date.now() : 0;
    if (key === "/" && $("#q")) { event.preventDefault(); $("#q").focus(); }
    else if (key === "?") { opener = doc.activeElement; doc.getElementById("keys")?.showModal(); }
    else if (key === "n" && $("[data-key=n]")) $("[data-key=n]").click();
    else if (key === "p") togglePause();
    else if (key === "j") moveRow(1);
    else if (key === "k") moveRow(-1);
    else if (key === "c") { navigator.clipboard?.writeText(location.href).then(() => toast("Link copied")); }
  });

  function settle() { tellTimes(); tendToasts(); }
  settle();
  kindOfSchedule();
  setKeys(keysOn());
  (doc.getElementById("error-summary") ?? { focus() {} }).focus();
  showState();
  plan();
  setInterval(() => { if (!doc.hidden) { tellTimes(); showState(); } }, 1000);
})();
