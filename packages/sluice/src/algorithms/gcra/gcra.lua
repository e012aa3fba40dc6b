-- The twin of gcra.ts. needs: bucket
algorithms['gcra'] = setmetatable({ code = 1 }, { __index = bucket })
