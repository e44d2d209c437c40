for (const one of document.getElementsByName('language'))
  one.addEventListener('change', () => { document.documentElement.lang = one.id.slice(3) })
