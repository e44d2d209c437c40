// What scrolls can be focused, so that it can be scrolled by keyboard, unless something in it can.
function setFocusable() {
  for (const one of document.querySelectorAll('.wide, pre'))
    if (one.scrollWidth > one.clientWidth && !one.querySelector('[tabindex="0"], a, button')) one.tabIndex = 0
    else one.removeAttribute('tabindex')
}
addEventListener('resize', setFocusable)
document.addEventListener('toggle', setFocusable, true)
setFocusable()
