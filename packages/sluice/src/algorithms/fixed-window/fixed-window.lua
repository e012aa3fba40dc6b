-- The twin of fixed-window.ts. needs: window-count
algorithms['fixed-window'] = setmetatable({ code = 5 }, { __index = window_count })
