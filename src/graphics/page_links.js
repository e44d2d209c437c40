// A link to a part of the page: in a srcdoc frame its address would be that of the page around it.
if (location.protocol === 'about:')
  addEventListener('click', event => {
    const link = event.target.closest('a[href^="#"]')
    if (!link) return
    event.preventDefault()
    location.hash = link.getAttribute('href')
  })
