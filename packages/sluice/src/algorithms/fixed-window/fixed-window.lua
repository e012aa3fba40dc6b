-- The twin of fixed-window.ts. needs: window-count
algorithms['fixed-window'] = setmetatable({ code = 5, keeps_charges_apart = true }, { __index = window_count })
