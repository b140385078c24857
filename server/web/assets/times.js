// Times are said as people do, and go on while a page is looked at.
export function distance(seconds) {
  const past = seconds >= 0, s = Math.abs(seconds);
  const text = s < 60 ? `${Math.floor(s)} s` : s < 3600 ? `${Math.floor(s / 60)} min` : s < 48 * 3600 ? `${Math.floor(s / 3600)} h` : s < 730 * 86400 ? `${Math.floor(s / 86400)} days` : `${Math.floor(s / (365 * 86400))} years`;
  return s < 5 ? "now" : past ? `${text} ago` : `in ${text}`;
}

function renew() {
  if (document.hidden) return;
  for (const time of document.querySelectorAll("time[datetime]")) {
    const text = distance((Date.now() - Date.parse(time.dateTime)) / 1000);
    if (time.textContent !== text) time.textContent = text;
  }
}

export function startTimes() {
  setInterval(renew, 5000);
  document.addEventListener("visibilitychange", renew);
  document.addEventListener("tenet:renewed", renew);
}
