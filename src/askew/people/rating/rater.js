// One key per answer: a digit presses the button or the box with this number, Enter sends
// a list, "u" goes back.
"use strict";
document.addEventListener("keydown", (event) => {
  const typing = event.target.tagName === "TEXTAREA";
  const isPressed = event.key === "Enter" && ["A", "BUTTON"].includes(event.target.tagName);
  if (typing || isPressed || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (target) {
    event.preventDefault();
    target.click();
  }
});
// A second click while the answer is being sent does not send it again.
document.addEventListener("submit", (event) => {
  if (document.body.dataset.sent) event.preventDefault();
  document.body.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => delete document.body.dataset.sent);
