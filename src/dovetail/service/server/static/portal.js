// What a page that stays open needs: whether the service is there, the session's secret, and marks in the editor.
"use strict";
(() => {
  const notice = document.getElementById("notice");
  const say = (text, link) => {
    notice.hidden = !text;
    notice.textContent = text;
    if (link) {
      const a = document.createElement("a");
      a.href = "/login";
      a.target = "_blank";
      a.textContent = "Log in again";
      notice.append(" ", a);
    }
  };

  // After a new log-in in another tab the session has another secret: forms of this page go on with it.
  const renew = (csrf) => {
    document.querySelectorAll('input[name="csrf"]').forEach((field) => { field.value = csrf; });
    document.body.setAttribute("hx-headers", JSON.stringify({ "X-CSRF": csrf }));
  };

  const look = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch("/fragments/secret", { headers: { Accept: "application/json" } });
      if (answer.status === 401) say("Your session is over. What you wrote is still here.", true);
      else if (answer.ok) { renew((await answer.json()).csrf); say(""); }
    } catch {
      say("The service does not answer. This page goes on when it is back.");
    }
  };
  setInterval(look, 5000);
  document.addEventListener("visibilitychange", look);

  // Errors underlined in place: a text behind the editor's own, invisible but for its marks.
  const text = document.getElementById("text"), marks = document.querySelector(".marks");
  const checked = document.getElementById("checked");
  if (!text || !marks || !checked) return;
  const start = (line, column) => {
    const lines = text.value.split("\n");
    return lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
  };
  const draw = () => {
    const found = [...checked.querySelectorAll("[data-line]")].map((each) => {
      const from = start(Number(each.dataset.line), Number(each.dataset.column));
      return [from, from + Number(each.dataset.length)];
    }).sort((a, b) => a[0] - b[0]);
    marks.textContent = "";
    let at = 0;
    for (const [from, to] of found) {
      if (from < at) continue;
      const mark = document.createElement("mark");
      mark.textContent = text.value.slice(from, to);
      marks.append(text.value.slice(at, from), mark);
      at = to;
    }
    marks.append(text.value.slice(at) + "\n");
    marks.scrollTop = text.scrollTop;
  };
  new MutationObserver(draw).observe(checked, { childList: true, subtree: true });
  text.addEventListener("input", () => { marks.textContent = ""; });
  text.addEventListener("scroll", () => { marks.scrollTop = text.scrollTop; });
  checked.addEventListener("click", (event) => {
    const found = event.target.closest("[data-line]");
    if (!found) return;
    const from = start(Number(found.dataset.line), Number(found.dataset.column));
    text.focus();
    text.setSelectionRange(from, from + Number(found.dataset.length));
  });
  draw();
})();
