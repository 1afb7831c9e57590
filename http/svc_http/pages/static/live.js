// One event stream for all tabs of a browser: the tab that holds the lock listens, and tells the others.
"use strict";
(() => {
  const PAUSE_MS = 2000;
  const STALE_MS = 15 * 60 * 1000;
  let waiting = null;
  const tell = () => {
    waiting ??= setTimeout(() => {
      waiting = null;
      if (!document.hidden) document.body.dispatchEvent(new CustomEvent("svc:changed"));
    }, PAUSE_MS);
  };
  const channel = new BroadcastChannel("svc-live");
  channel.onmessage = tell;
  const listen = () => new Promise(() => {
    const stream = new EventSource("/live");
    stream.addEventListener("svc.score_v3.sub_session.updated", () => { tell(); channel.postMessage("changed"); });
  });
  if (navigator.locks) navigator.locks.request("svc-live", listen); else listen();
  // What depends on the time of day is told by no event: a page that was away, or stands open, asks again.
  document.addEventListener("visibilitychange", () => { if (!document.hidden) tell(); });
  setInterval(tell, STALE_MS);
  // A browser knows its zone: it is offered where it is another one than the chosen.
  for (const offer of document.querySelectorAll("[data-own-zone]")) {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone, list = document.getElementById(offer.dataset.ownZone);
    const button = offer.firstElementChild;
    offer.hidden = list.value === own || ![...list.options].some((each) => each.value === own);
    button.textContent = `Use ${own}, as this browser does`;
    button.onclick = () => { list.value = own; offer.hidden = true; };
  }
})();
