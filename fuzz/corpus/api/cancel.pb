
abcdewhy